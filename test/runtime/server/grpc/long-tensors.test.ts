/** Long tensors, which a thread decodes and slices copy, are the same that short ones are. */
import { afterEach, expect, test } from "vitest";
import type { TensorInfo } from "../../../../runtime/bundle/schema.ts";
import { closeAll, servedBundle } from "../harness.ts";
import { closeClients, parameter, serveGrpc } from "./client.ts";

afterEach(async () => {
  closeClients();
  await closeAll();
});

/** More than 4 MiB of floats. */
const WIDTH = 1_100_000;

function tensor(name: string, dtype: TensorInfo["dtype"], width: number): TensorInfo {
  return { name, dtype, shape: [-1, width] };
}

test("floats, raw and typed, in and out", async () => {
  const inputs = [tensor("x", "float32", WIDTH)];
  const bundle = servedBundle({}, inputs, [tensor("y", "float32", WIDTH)]);
  const { client } = await serveGrpc({ bundle });
  const floats = Float32Array.from({ length: WIDTH }, (_, index) => index / 2);
  const bytes = new Uint8Array(floats.buffer);
  const stated = { name: "x", datatype: "FP32", shape: [1n, BigInt(WIDTH)] };
  const typed = { ...stated, contents: { fp32Contents: [...floats] } };
  const raw = await client.infer({ modelName: "tiny", inputs: [typed] });
  expect(Buffer.compare(raw.rawOutputContents[0] ?? bytes.subarray(1), bytes)).toBe(0);
  const parameters = { binary_data_output: parameter(false) };
  const request = { modelName: "tiny", inputs: [stated], rawInputContents: [bytes], parameters };
  const [output] = (await client.infer(request)).outputs;
  const answered = new Uint8Array(Float32Array.from(output?.contents?.fp32Contents ?? []).buffer);
  expect(Buffer.compare(answered, bytes)).toBe(0);
});

test("strings, raw and typed, and those that are not as many as stated", async () => {
  const bundle = servedBundle({}, [tensor("x", "string", 2)], [tensor("y", "string", 2)]);
  const { client } = await serveGrpc({ bundle });
  const strings = ["a".repeat(70_000), "b"].map((text) => Buffer.from(text));
  const raw = Buffer.concat(
    strings.flatMap((text) => [Buffer.from(new Uint32Array([text.length]).buffer), text]),
  );
  const stated = { name: "x", datatype: "BYTES", shape: [1n, 2n] };
  const infer = (contents: readonly Uint8Array[], rawInputContents: Uint8Array[]) => {
    const input = { ...stated, contents: { bytesContents: [...contents] } };
    const inputs = [contents.length === 0 ? stated : input];
    return client.infer({ modelName: "tiny", inputs, rawInputContents });
  };
  for (const answer of [await infer(strings, []), await infer([], [raw])]) {
    expect(Buffer.from(answer.rawOutputContents[0] ?? []).equals(raw)).toBe(true);
  }
  await expect(infer([], [raw.subarray(1)])).rejects.toMatchObject({
    details: expect.stringMatching(/^raw_input_contents\[0\]: expected 2 elements/),
  });
  await expect(infer(strings.slice(1), [])).rejects.toMatchObject({
    details: "inputs[0].contents.bytes_contents: expected 2 elements, got 1",
  });
});
