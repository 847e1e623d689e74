/** Requests for letters, of one row each, as bytes: for sockets and for `fetch`. */
import { drawImages, HELD_OUT_SEED, IMAGE_BYTES } from "../models/image-classification/dataset.ts";

const MODEL = "letters";

const head = Buffer.from(
  JSON.stringify({
    inputs: [
      {
        name: "pixels",
        datatype: "UINT8",
        shape: [1, IMAGE_BYTES],
        parameters: { binary_data_size: IMAGE_BYTES },
      },
    ],
    parameters: { binary_data_output: true },
  }),
);
const body = Buffer.concat([head, drawImages(HELD_OUT_SEED, 1).pixels]);

/** A whole message of HTTP/1.1, for sockets. */
export function lettersMessage(): Buffer {
  const lines = [
    `POST /v2/models/${MODEL}/infer HTTP/1.1`,
    "host: localhost",
    "content-type: application/octet-stream",
    `inference-header-content-length: ${head.length}`,
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

/** Sends one request. @returns its status, 0 where there was no answer. */
export async function askLetters(url: string): Promise<number> {
  try {
    const reply = await fetch(`${url}/v2/models/${MODEL}/infer`, {
      method: "POST",
      headers: { "inference-header-content-length": String(head.length) },
      body,
    });
    await reply.arrayBuffer();
    return reply.status;
  } catch {
    return 0;
  }
}
