/** The clusters of the experiments at scale. */

/** Its workers carry 63 queries/s each; here they get about half of that. */
export const POLICY = "policies/image-classification/app.yaml";
export const WORKER_COUNTS = [10, 100, 1000];
export const SEEDS = 5;
export const LOAD_PER_WORKER_QPS = 30;
/** Nodes and zones that the workers lie on, evenly. */
export const NODE_COUNTS = [4, 16, 64];
export const ZONES = 4;
