/** ES modules that run as models, well-behaved and others, as text. */

/**
 * Text of three numbers to those numbers, in rows: `1 2 3` is [1, 2, 3]. What is no such text it
 * refuses by its row; `throw`, `hang`, `leak`, `shape`, `type`, `rows`, `none` and `exit` do what
 * they say.
 */
export const NUMBERS_MODULE = `
const leaked = [];
export default function open({ options: { factor = 1, says } }) {
  if (says) console.log("a module that says something on standard output");
  return {
    inputs: [{ name: "text", datatype: "BYTES", shape: [] }],
    outputs: [{ name: "x", datatype: "FP32", shape: [3] }],
    sample: (rows, random) => ({
      text: { data: Array.from({ length: rows }, () => "1 2 " + random()), shape: [rows] },
    }),
    async run({ text }, rows) {
      const words = text.data.map((bytes) => Buffer.from(bytes).toString());
      if (words.includes("throw")) throw new Error("it is\\n tired");
      if (words.includes("hang")) await new Promise((resolve) => setInterval(resolve, 2 ** 30));
      if (words.includes("never")) await new Promise(() => {});
      if (words.includes("late")) setTimeout(() => { throw new Error("a timer") });
      if (words.includes("late")) await new Promise((resolve) => setTimeout(resolve, 1e6));
      if (words.includes("exit")) process.exit(7);
      if (words.includes("leak")) for (;;) leaked.push(Buffer.alloc(2 ** 26));
      const answer = (data, ...shape) => ({ x: { data, shape } });
      if (words.includes("shape")) return answer(new Float32Array(2 * rows), rows, 2);
      if (words.includes("type")) return answer(new Float64Array(3 * rows), rows, 3);
      if (words.includes("rows")) return answer(new Float32Array(3), 1, 3);
      if (words.includes("short")) return answer(new Float32Array(3 * rows - 1), rows, 3);
      if (words.includes("none")) return {};
      if (words.includes("nothing")) return undefined;
      const numbers = words.map((word) => word.split(" ").map(Number));
      const isGood = (own) => own.length === 3 && !own.includes(NaN);
      const bad = numbers.flatMap((own, row) => (isGood(own) ? [] : [row]));
      if (bad.length > 0) throw Object.assign(new Error("expected three numbers"), { rows: bad });
      const data = Float32Array.from(numbers.flat(), (number) => factor * number);
      return { x: { data, shape: [rows, 3] } };
    },
  };
}
`;
