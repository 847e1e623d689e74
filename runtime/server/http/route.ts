/** Routes of features: paths that the HTTP server looks up and does not know itself. */
import type { IncomingMessage } from "node:http";
import type { Need } from "../access/scopes.ts";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { ServerState } from "../applications/server-state.ts";
import type { BodyLimit } from "../bodies/body-memory.ts";

/** Fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** Request to a route. */
export interface Asked {
  readonly state: ServerState;
  /** Whether it is a POST with a body; otherwise it reads. */
  readonly isPosted: boolean;
  /** That a path with `:model` names; undefined for other paths. */
  readonly hosted: HostedModel | undefined;
  /** Name of the client's token; empty where it has shown none. */
  readonly client: string;
  /** The body. @param limit left out for that of requests that ask little. */
  json(limit?: BodyLimit): Promise<Fields>;
}

/** The document goes as JSON; a body goes as its headers say. */
export type Reply = { readonly status: number } & (
  | { readonly document: object }
  | { readonly body: Uint8Array; readonly headers: Readonly<Record<string, string>> }
);

export interface Route {
  /** Paths such as `/v2/models/:model/ready`; `/versions/:version` is allowed after the model. */
  readonly paths: readonly string[];
  readonly methods: "GET" | "POST" | "GET or POST";
  /** Which scope its client needs. */
  readonly need: Need;
  /** Whether it answers a request by what that accepts; left out, it does. */
  isFor?(request: IncomingMessage, served: ReadonlySet<Need>): boolean;
  /** @throws HttpError, BadRequest */
  answer(asked: Asked): Reply | Promise<Reply>;
}

export interface FoundRoute {
  readonly route: Route;
  /** Model name in the path; empty without one. */
  readonly model: string;
  readonly version: string;
}

const MODEL = ":model";
const VERSION = ":version";

export class Routes {
  readonly #patterns: readonly { readonly route: Route; readonly segments: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#patterns = routes.flatMap((route) =>
      route.paths.map((path) => {
        return { route, segments: path.split("/").filter((segment) => segment !== "") };
      }),
    );
  }

  /**
   * @param path segments without their escapes; the last one may be empty.
   * @param served what the listener that it came by serves.
   */
  find(
    path: readonly string[],
    request: IncomingMessage,
    served: ReadonlySet<Need>,
  ): FoundRoute | undefined {
    const length = path.at(-1) === "" ? path.length - 1 : path.length;
    const found = this.#patterns.find(({ route, segments }) => {
      if (segments.length !== length || route.isFor?.(request, served) === false) return false;
      return segments.every((one, at) =>
        one.startsWith(":") ? path[at] !== "" : one === path[at],
      );
    });
    if (found === undefined) return undefined;
    const named = (name: string) => path[found.segments.indexOf(name)] ?? "";
    return { route: found.route, model: named(MODEL), version: named(VERSION) };
  }
}
