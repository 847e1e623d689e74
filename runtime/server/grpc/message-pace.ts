/** Ends calls whose message does not come: a call of one message has as long as a body of HTTP. */
import { status as Code, ServerInterceptingCall, type ServerInterceptor } from "@grpc/grpc-js";

export function messagePace(timeoutMs: number): ServerInterceptor {
  return ({ requestStream }, call) => {
    if (requestStream) return new ServerInterceptingCall(call);
    let timer: NodeJS.Timeout | undefined;
    return new ServerInterceptingCall(call, {
      start: (next) => {
        timer = setTimeout(() => {
          const details = `request: expected a whole message within ${timeoutMs} ms`;
          call.sendStatus({ code: Code.DEADLINE_EXCEEDED, details });
        }, timeoutMs).unref();
        next({
          onReceiveHalfClose: (pass) => {
            clearTimeout(timer);
            pass();
          },
          onCancel: () => clearTimeout(timer),
        });
      },
    });
  };
}
