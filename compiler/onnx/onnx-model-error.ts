/**
 * A model file that cannot be cut into layers. The message says which file, what was found and what
 * is allowed, on one line.
 */
export class OnnxModelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "OnnxModelError";
  }
}
