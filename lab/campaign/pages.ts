/**
 * Requests as browsers send them for pages of this server and of other sites, by rebound names too:
 * pages of other sites read and start nothing, and clients that are no browsers are served.
 */
import { request } from "node:http";
import { withServer } from "../experiments/harness/live.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { Draw } from "./wire/draw.ts";
import { INFER_BODY, MODEL, startLetters } from "./wire/letters.ts";

const READ = ["/metrics", "/admin/state", "/v2/stratagem/live", "/v2/stratagem/times", "/"];
const INFER = `/v2/models/${MODEL}/infer`;
const OWN = ["127.0.0.1", "localhost", "[::1]", "10.9.8.7", "app.localhost", "stratagem"];
const FOREIGN = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "a.b"];
const SITES = ["same-origin", "none", "same-site", "cross-site", "x", ""];

export const PAGES: Part = {
  name: "pages",
  about: "requests of pages of other sites, by Host, Origin and Sec-Fetch-Site",
  unit: "requests",
  sizes: { full: 20_000, short: 500 },
  minutes: 2,
  run,
};

interface Case {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether it must be refused, or must not be. */
  readonly isRefused: boolean;
}

async function run({ size, seed }: Attack): Promise<Outcome> {
  return withServer(startLetters(), async ({ url }) => {
    const lost: string[] = [];
    let refused = 0;
    for (let index = 0; index < size; index++) {
      const one = caseOf(new Draw(seed, index));
      const status = await statusOf(url, one);
      if (one.isRefused) refused++;
      // Inference may be late or too much, which is another answer than a refusal.
      if ((status === 403) !== one.isRefused) {
        lost.push(`case ${index}: ${status} for ${one.path} ${JSON.stringify(one.headers)}`);
      }
    }
    return { tried: size, lost, figures: { refused: `${refused}` } };
  });
}

function caseOf(draw: Draw): Case {
  const isForeign = draw.isOneIn(2);
  const name = draw.of(isForeign ? FOREIGN : OWN);
  const written = draw.of([name, name.toUpperCase(), `${name}${name.endsWith("]") ? "" : "."}`]);
  const host = `${written}${draw.of(["", ":8000", ":1"])}`;
  // Empty ones are left out.
  const origin = draw.of(["", `http://${host}`, "http://evil.example", "null"]);
  const site = draw.of(SITES);
  const path = draw.of([...READ, INFER, INFER]);
  const isOfPage = origin !== "" || site !== "";
  const isOwnSite = site === "" || site === "same-origin" || site === "none";
  const isOwnOrigin =
    origin === "" || site === "same-origin" || (site === "" && origin === `http://${host}`);
  const isAdmin = path.startsWith("/admin") && origin !== "";
  return {
    path,
    headers: {
      host,
      accept: "text/html",
      ...(origin === "" ? {} : { origin }),
      ...(site === "" ? {} : { "sec-fetch-site": site }),
    },
    isRefused: (isForeign && (isOfPage || path !== INFER)) || !isOwnSite || !isOwnOrigin || isAdmin,
  };
}

function statusOf(url: string, { path, headers }: Case): Promise<number> {
  const body = path === INFER ? INFER_BODY : undefined;
  return new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST";
    const sent = request(url + path, { method, headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
