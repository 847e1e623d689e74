/**
 * A task that is code: makes one text of the lines of a page.
 *
 * Input `text`, BYTES [lines]: as they are read. Output `page`, BYTES []: one below the other.
 */
/** Of a page to measure with. */
const LINES = 17;

export default function open() {
  const decoder = new TextDecoder();
  const lineOf = (line) => (typeof line === "string" ? line : decoder.decode(line));
  return {
    inputs: [{ name: "text", datatype: "BYTES", shape: [-1] }],
    outputs: [{ name: "page", datatype: "BYTES", shape: [] }],
    batches: [1],
    sample: (rows) => ({
      text: { data: Array(rows * LINES).fill("a line of text"), shape: [rows, LINES] },
    }),
    run: ({ text }) => ({ page: { data: [text.data.map(lineOf).join("\n")], shape: [1] } }),
    close: () => {},
  };
}
