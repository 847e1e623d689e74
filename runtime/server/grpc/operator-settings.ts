/** Triton's trace and log settings, which operators see and change. */
import type { Server } from "@grpc/grpc-js";
import { changeLog } from "../applications/log-settings.ts";
import { changeTraces } from "../applications/trace-settings.ts";
import { registerAnswer } from "./calls.ts";
import type { GrpcContext } from "./context.ts";
import * as pb from "./pb/inference-pb.ts";

/** @param path of the service. */
export function registerSettings(server: Server, context: GrpcContext, path: string): void {
  const { house } = context;
  const trace = [pb.TraceSettingRequestSchema, pb.TraceSettingResponseSchema] as const;
  registerAnswer(server, context, `${path}/TraceSetting`, trace, ({ settings, modelName }) => {
    // One without a value is to be as it was.
    const asked = mapped(settings, ({ value }) => (value.length === 0 ? null : value));
    const told = changeTraces(house, asked, modelName === "" ? undefined : modelName);
    return { settings: mapped(told, (value) => ({ value: [value].flat() })) };
  });
  const log = [pb.LogSettingsRequestSchema, pb.LogSettingsResponseSchema] as const;
  registerAnswer(server, context, `${path}/LogSettings`, log, ({ settings }) => {
    const told = changeLog(
      house,
      mapped(settings, ({ parameterChoice }) => parameterChoice.value),
    );
    return { settings: mapped(told, (value) => ({ parameterChoice: choiceOf(value) })) };
  });
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
