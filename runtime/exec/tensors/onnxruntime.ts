/** onnxruntime as all of the runtime uses it: it tells nobody what it does. */
import "./no-telemetry.ts";

export { env, InferenceSession, Tensor } from "onnxruntime-node";
