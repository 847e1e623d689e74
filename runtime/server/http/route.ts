/** Routes that features add to the HTTP server. */
import type { IncomingMessage } from "node:http";
import type { Need } from "../access/scopes.ts";
import type { HostedModel } from "../applications/hosted-model.ts";
import type { ServerState } from "../applications/server-state.ts";
import type { BodyLimit } from "../bodies/body-memory.ts";

/** Fields of a JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly state: ServerState;
  /** Whether it is a POST with a body; otherwise it reads. */
  readonly isPosted: boolean;
  /** That a path with `:model` names; undefined for other paths. */
  readonly hosted: HostedModel | undefined;
  /** Name of the client's token; empty without a token. */
  readonly client: string;
  /** Reads the JSON body. @param limit default: that of small requests. */
  json(limit?: BodyLimit): Promise<Fields>;
}

/** The document is sent as JSON; a body with its own headers. */
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
  /** Whether the route handles a request, by its Accept header. Default: always. */
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
   * @param path unescaped segments; the last one may be empty.
   * @param served scopes of the request's listener.
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
