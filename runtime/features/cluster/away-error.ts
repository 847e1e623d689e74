/** What is said where the cluster's NATS gives no answer, which may be otherwise a moment later. */
import { RuntimeError } from "../../base/errors.ts";

export class ClusterAwayError extends RuntimeError {
  constructor(message: string) {
    super("RUNTIME_CLUSTER", message);
  }
}
