/** RPCs of Triton's trace and log settings. */
import { hostedModel } from "../../server/applications/hosted-model.ts";
import { registerAnswer } from "../../server/grpc/calls.ts";
import * as pb from "../../server/grpc/pb/inference-pb.ts";
import type { RegisterRpcs } from "../../server/grpc/rpcs.ts";
import { changeLog } from "./log-settings.ts";
import type { Operated } from "./settings-routes.ts";
import { changeTraces } from "./trace-settings.ts";

export function settingsRpcs(operated: Operated): RegisterRpcs {
  return (server, context, path) => {
    const { state } = context;
    const { onNotice } = state;
    const trace = [pb.TraceSettingRequestSchema, pb.TraceSettingResponseSchema] as const;
    registerAnswer(server, context, `${path}/TraceSetting`, trace, ({ settings, modelName }) => {
      // A setting without a value is reset.
      const asked = mapped(settings, ({ value }) => (value.length === 0 ? null : value));
      const hosted = modelName === "" ? undefined : hostedModel(state.models, modelName);
      const current = changeTraces(operated, asked, onNotice, hosted);
      return { settings: mapped(current, (value) => ({ value: [value].flat() })) };
    });
    const log = [pb.LogSettingsRequestSchema, pb.LogSettingsResponseSchema] as const;
    registerAnswer(server, context, `${path}/LogSettings`, log, ({ settings }) => {
      const asked = mapped(settings, ({ parameterChoice }) => parameterChoice.value);
      const current = changeLog(operated, asked, onNotice);
      return { settings: mapped(current, (value) => ({ parameterChoice: choiceOf(value) })) };
    });
  };
}

function choiceOf(value: boolean | number | string) {
  if (typeof value === "boolean") return { case: "boolParam", value } as const;
  if (typeof value === "number") return { case: "uint32Param", value } as const;
  return { case: "stringParam", value } as const;
}

function mapped<A, B>(
  fields: Readonly<Record<string, A>>,
  each: (value: A) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, each(value)]));
}
