/** Error for an invalid request. */
import { foundText } from "./json-text.ts";

/** An invalid request. The message names the field. */
export class BadRequest extends Error {
  /**
   * @param path of the field, such as `inputs[0].shape[1]`.
   * @param expected what is allowed, beginning with "expected".
   */
  constructor(path: string, expected: string, found: unknown) {
    super(`${path}: ${expected}, got ${foundText(found)}`);
    this.name = "BadRequest";
  }
}
