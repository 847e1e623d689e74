/** Ranges of the numbers of a bundle; the whole runtime is tested at both ends of each. */

/** A microsecond: no measured time is shorter. */
export const MIN_MS = 1e-3;
/** Eleven days: the longest objective, batch or pause that a spec or a profile states. */
export const MAX_MS = 1e9;
/** Bound of computed times: batches, waits, samples and simulations. */
export const MAX_SPAN_MS = 1e15;
/** A minute. */
export const MAX_HOP_MS = 60_000;
/** Largest number of busy workers with a contention factor. */
export const MAX_CONTENTION = 1024;
/** Largest slowdown of a batch beside other workers. */
export const MAX_STRETCH = 1e6;
/** Shortest interval between two decisions from the traffic. */
export const MIN_TICK_MS = 10;

/** One query in eleven days. */
export const MIN_QPS = 1e-6;
/** Largest load of a level. */
export const MAX_QPS = 1e9;
/** Bounds of the throughput of workers: at the longest and the shortest times. */
export const MIN_CAPACITY_QPS = 1e-15;
export const MAX_CAPACITY_QPS = 1e15;
/** Squared coefficient of variation of arrivals, and dispersion of counts. */
export const MIN_VARIATION = 1e-6;
export const MAX_VARIATION = 1e6;

/** Workers of all pools together. */
export const MAX_WORKERS = 10_000;
/** Likewise, for methods whose plans assign models to workers. */
export const MAX_PIPELINE_WORKERS = 4096;
/** Cores of one worker. */
export const MAX_CORES = 4096;
/** Cores of all workers, for methods that give cores to instances. */
export const MAX_POOL_CORES = 10_000;
export const MAX_POOLS = 1000;
export const MAX_PRICE = 1e9;
/** Row indices of an action table fit a uint16, as batch sizes must. */
export const MAX_BATCH = 65_534;
/** Workers times the largest batch, or times the queries that wait for each: memory of a core. */
export const MAX_SEATS = 2 ** 21;
/** Largest queue for a whole cluster. */
export const MAX_WAITING = 2 ** 20 - 1;

export const MAX_LEVELS = 10_000;
export const MAX_VARIANTS = 1000;
/** Files of a model after its first. */
export const MAX_PARTS = 15;
/** Combinations of the sizes of open axes that requests are padded up to. */
export const MAX_BUCKETS = 64;
/** Tasks of a pipeline. */
export const MAX_TASKS = 64;
/** Mean queries of one query; and of one request, at all tasks together. */
export const MAX_FANOUT = 1000;
export const MAX_QUERIES_PER_REQUEST = 10_000;
/** Rows that are gathered to one. */
export const MAX_WINDOW = 10_000;
/** Beyond this multiple a query is practically never given up. */
export const MAX_SLOS = 1e6;
export const MIN_SLOS = 1e-3;
export const MAX_HEADROOM = 100;
/** Consecutive decisions that have to agree. */
export const MAX_STABLE_TICKS = 10_000;
/** Sample traces of a plan. */
export const MAX_TRACES = 1000;
/** Largest figure that only explains. */
export const MAX_FIGURE = 1e15;
/** Largest simulation whose figures a bundle has, and that `verify` repeats. */
export const MAX_REQUESTS = 1e8;
/** Characters of the JSON of a module's options. */
export const MAX_OPTIONS_LENGTH = 65_536;
/** Entry of a package, as in `import`: not a path, and not a module of Node. */
export const PACKAGE_SPECIFIER = /^[@\w~-][\w.~-]*(?:\/[\w~-][\w.~-]*)*$/;
/** URL of a server, without credentials, query or fragment. */
export const SERVER_URL = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/i;
