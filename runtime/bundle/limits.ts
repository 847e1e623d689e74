/** Ranges of the numbers of a bundle: the whole runtime is tested at both ends of each. */

/** A microsecond: nothing that is measured is shorter. */
export const MIN_MS = 1e-3;
/** Eleven days: the longest objective, batch or pause that a spec or a profile states. */
export const MAX_MS = 1e9;
/** Bounds what is computed of such times: batches, waits, samples and simulations. */
export const MAX_SPAN_MS = 1e15;
/** A minute. */
export const MAX_HOP_MS = 60_000;
/** Busy workers whose contention is told. */
export const MAX_CONTENTION = 1024;
/** How many times as long a batch may take beside other workers. */
export const MAX_STRETCH = 1e6;
/** How often a runtime looks at the traffic at most. */
export const MIN_TICK_MS = 10;

/** One query in eleven days. */
export const MIN_QPS = 1e-6;
/** Of a level. */
export const MAX_QPS = 1e9;
/** Bounds what workers carry, and a load that they do: in the longest and the shortest times. */
export const MIN_CAPACITY_QPS = 1e-15;
export const MAX_CAPACITY_QPS = 1e15;
/** Squared coefficient of variation of arrivals, and dispersion of counts. */
export const MIN_VARIATION = 1e-6;
export const MAX_VARIATION = 1e6;

/** Workers of all pools together. */
export const MAX_WORKERS = 10_000;
/** The same where plans say which worker holds which model. */
export const MAX_PIPELINE_WORKERS = 4096;
/** Cores of one worker. */
export const MAX_CORES = 4096;
/** Cores of all workers where a method gives cores to instances. */
export const MAX_POOL_CORES = 10_000;
export const MAX_POOLS = 1000;
export const MAX_PRICE = 1e9;
/** Row indices of an action table fit a uint16, as batch sizes must. */
export const MAX_BATCH = 65_534;
/** Workers times the largest batch, or times the queries that wait for each: memory of a core. */
export const MAX_SEATS = 2 ** 21;
/** Queries that one queue of a whole cluster holds at most. */
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
/** Beyond it a query is as good as never given up. */
export const MAX_SLOS = 1e6;
export const MIN_SLOS = 1e-3;
export const MAX_HEADROOM = 100;
/** Looks in a row that have to agree. */
export const MAX_STABLE_TICKS = 10_000;
/** Sample traces of a plan. */
export const MAX_TRACES = 1000;
/** Of figures that only explain. */
export const MAX_FIGURE = 1e15;
/** Of a simulation that a bundle tells of, and that `verify` repeats. */
export const MAX_REQUESTS = 1e8;
/** Characters of the JSON of a module's options. */
export const MAX_OPTIONS_LENGTH = 65_536;
/** What a package has, as `import` names it: no path, and nothing of Node's own. */
export const PACKAGE_SPECIFIER = /^[@\w~-][\w.~-]*(?:\/[\w~-][\w.~-]*)*$/;
/** A server, without credentials, a query or a fragment. */
export const SERVER_URL = /^https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?$/i;
