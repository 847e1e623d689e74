/** A section of the truth table: what it measures, in rows that are told as they come. */
import type { Settings } from "./settings.ts";

export interface Section {
  readonly name: string;
  readonly title: string;
  /** It is ended then, and keeps the rows that it told. */
  readonly limitSeconds: number;
  /** Whether what it finds is judged on a software driver too, which keeps no times. */
  readonly isOfValues: boolean;
  run(settings: Settings, tell: Teller): Promise<void>;
}

export interface Teller {
  columns(...names: readonly string[]): void;
  /** @param isKept whether what was promised holds; left out where nothing was. */
  row(cells: readonly (string | number)[], isKept?: boolean): void;
  note(text: string): void;
}

/** What a section tells, as the lines of its process. */
export type Told =
  | { readonly kind: "columns"; readonly names: readonly string[] }
  | { readonly kind: "row"; readonly cells: readonly string[]; readonly isKept: boolean | null }
  | { readonly kind: "note"; readonly text: string };
