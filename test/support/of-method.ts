/** An application as the one of its method, for solvers that are asked without the registry. */
import type { Application, MethodName, PolicyOf } from "stratagem/internal/spec/application";

export function ofMethod<M extends MethodName>(
  method: M,
  application: Application,
): Application<PolicyOf<M>> {
  if (isOf(method, application)) return application;
  throw new TypeError(`expected an application of ${method}, got ${application.policy.method}`);
}

function isOf<M extends MethodName>(
  method: M,
  application: Application,
): application is Application<PolicyOf<M>> {
  return application.policy.method === method;
}
