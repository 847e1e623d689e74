/** Formats amounts of figures. */
import { percent, rounded, short } from "stratagem-runtime/internal/describe/text";
import type { FigureUnit } from "../spec/schema/promise-figures.ts";

export function amountText(unit: FigureUnit, amount: number): string {
  switch (unit) {
    case "ratio":
      return percent(amount);
    case "ms":
      return `${rounded(amount)} ms`;
    case "cost":
      return `${short(amount)}/h`;
    case "count":
      return short(amount);
    case "bytes":
      return `${Math.round(amount)} bytes`;
  }
}
