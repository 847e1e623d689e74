/** The connection to a worker by its URL; what speaks gRPC is loaded where a URL says so. */
import { HttpConnection } from "./http-connection.ts";
import type { OpenAnswer, V2Connection } from "./v2-connection.ts";
import type { ReadToken } from "./worker-token.ts";

/** @param url of the server, without a slash at its end. */
export function connectionTo(url: string, readToken: ReadToken): V2Connection {
  if (!/^grpcs?:/.test(url)) return new HttpConnection(url, readToken);
  const loaded = import("./grpc-connection.ts").then(({ GrpcConnection }) => {
    return new GrpcConnection(url, readToken);
  });
  return laterConnection(loaded);
}

/** @param loaded whose failure is that of every call. */
function laterConnection(loaded: Promise<V2Connection>): V2Connection {
  // Whoever asks first is told.
  loaded.catch(() => {});
  return {
    expectReady: async (timeoutMs) => (await loaded).expectReady(timeoutMs),
    describe: async (model) => (await loaded).describe(model),
    configOf: async (model) => (await loaded).configOf(model),
    statisticsOf: async (model) => (await loaded).statisticsOf(model),
    change: async (...asked) => (await loaded).change(...asked),
    infer: (batch, onComputed): OpenAnswer => {
      let open: OpenAnswer | null = null;
      let stopped: string | null = null;
      const answer = loaded.then((connection) => {
        if (stopped !== null) throw new Error(stopped);
        open = connection.infer(batch, onComputed);
        return open.answer;
      });
      const abort = (reason: string) => {
        stopped ??= reason;
        open?.abort(reason);
      };
      return { answer, abort };
    },
    close: () => void loaded.then((connection) => connection.close()).catch(() => {}),
  };
}
