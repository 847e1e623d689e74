/** Inference requests of the Open Inference Protocol, one at a time. */

interface InferInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

interface InferReply {
  readonly outputs: readonly { readonly name: string; readonly data: readonly number[] }[];
  readonly parameters: { readonly accuracy: number };
}

/** What a server answered. */
export interface Answer {
  /** As the server states it. */
  readonly accuracy: number;
  /** Numbers of an output, none if there is none of that name. */
  readonly values: (output: string) => number[];
}

/** @throws Error with the body of a reply that is no answer. */
export async function infer(url: string, model: string, input: InferInput): Promise<Answer> {
  const response = await fetch(`${url}/v2/models/${model}/infer`, {
    method: "POST",
    body: JSON.stringify({ inputs: [input] }),
  });
  const body = await response.text();
  if (!response.ok) throw new Error(body);
  const { outputs, parameters } = JSON.parse(body) as InferReply;
  return {
    accuracy: parameters.accuracy,
    values: (output) => outputs.find(({ name }) => name === output)?.data.flat() ?? [],
  };
}
