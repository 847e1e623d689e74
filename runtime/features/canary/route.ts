/** Route for administrators: GET reports the canaries, POST decides on them. */
import { HttpError } from "../../server/connections/http-error.ts";
import type { Asked, Fields, Reply, Route } from "../../server/http/route.ts";
import { BadRequest } from "../../server/tensors/bad-request.ts";
import type { Canaries } from "./canaries.ts";
import { CANARY_ACTIONS } from "./canary-report.ts";

/** @param canaries returns undefined before the server has started any. */
export function canaryRoute(canaries: () => Canaries | undefined): Route {
  return {
    paths: ["/admin/canary"],
    methods: "GET or POST",
    need: "admin",
    answer: ({ isPosted, json }) => {
      const all = canaries();
      const document = { canaries: all?.reports() ?? [] };
      return isPosted ? acted(all, json) : { status: 200, document };
    },
  };
}

/** @throws HttpError, BadRequest */
async function acted(canaries: Canaries | undefined, json: Asked["json"]): Promise<Reply> {
  const { action, application } = askedAction(await json());
  const done = (await canaries?.act(action, application)) ?? null;
  if (done === null) {
    const whose = application === undefined ? "the only canary" : `the canary '${application}'`;
    throw new HttpError(404, `Request for unknown canary: ${whose} was not found`);
  }
  const { isDone, notice } = done;
  const document = { done: isDone, notice, canaries: canaries?.reports() ?? [] };
  return isDone
    ? { status: 200, document }
    : { status: 409, document: { error: notice, ...document } };
}

function askedAction({ action, application, ...others }: Fields) {
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new BadRequest(other, "expected only action and application", others[other]);
  }
  const known = CANARY_ACTIONS.find((one) => one === action);
  if (known === undefined) {
    throw new BadRequest("action", `expected ${CANARY_ACTIONS.join(", ")}`, action);
  }
  if (application !== undefined && typeof application !== "string") {
    throw new BadRequest("application", "expected the name of an application", application);
  }
  return { action: known, application };
}
