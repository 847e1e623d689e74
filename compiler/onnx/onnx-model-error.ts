/**
 * Error for a model file that cannot be cut into layers. The message says in one line which file,
 * what was found and what is allowed.
 */
export class OnnxModelError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "OnnxModelError";
  }
}
