/** Names of the autoscalers; an implementation is loaded on first use. */

/** In the order of the help and of messages. */
export const SCALER_NAMES = ["kpa", "hpa", "keda", "ray-serve", "dynamo", "infaas"] as const;

export type ScalerName = (typeof SCALER_NAMES)[number];

export function scalerNamed(text: string): ScalerName | undefined {
  return SCALER_NAMES.find((name) => name === text);
}
