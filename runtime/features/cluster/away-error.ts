/** Error for an unreachable cluster NATS; a later attempt may succeed. */
import { RuntimeError } from "../../base/errors.ts";

export class ClusterAwayError extends RuntimeError {
  constructor(message: string) {
    super("RUNTIME_CLUSTER", message);
  }
}
