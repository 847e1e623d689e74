/** What system tests ask servers that run as processes. */

interface Described {
  readonly inputs: readonly { name: string; datatype: string; shape: readonly number[] }[];
}

/** A request of one row for a server's first model, each number half of the largest. */
export async function rowRequest(
  url: string,
): Promise<{ readonly inferUrl: string; readonly body: string }> {
  const index = await fetch(`${url}/v2/models`);
  const { models }: { readonly models: readonly string[] } = JSON.parse(await index.text());
  const modelUrl = `${url}/v2/models/${models[0]}`;
  const described: Described = JSON.parse(await (await fetch(modelUrl)).text());
  const inputs = described.inputs.map(({ name, datatype, shape }) => {
    const sizes = shape.map((size) => (size < 0 ? 1 : size));
    const count = sizes.reduce((product, size) => product * size, 1);
    const half = datatype.startsWith("FP") ? 0.5 : 128;
    return { name, datatype, shape: sizes, data: new Array<number>(count).fill(half) };
  });
  return { inferUrl: `${modelUrl}/infer`, body: JSON.stringify({ inputs }) };
}

/** Sum of the metrics whose line starts like this. */
export async function metricSum(url: string, start: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(start));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
