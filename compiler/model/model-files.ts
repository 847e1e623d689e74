/** Model files that variants name, as solvers are handed them. */
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";

/** Model files as the compiler read them, by the path the application gives. */
export type ModelFiles = ReadonlyMap<
  string,
  RamsisBundle["tasks"][number]["variants"][number]["model"]
>;
