/** Fields about the devices of pools and the hardware they were measured on. */
import { oneOf, orNull, type Shape, text } from "./fields.ts";
import { dependent, record } from "./record.ts";
import { refuse } from "./refuse.ts";
import {
  DEVICE_FORM,
  isWorkerUrl,
  type MeasuredDevice,
  type Pool,
  PROVIDERS,
  parseDevice,
  WORKER_URL_FORM,
} from "./schema.ts";

export const device: Shape<string> = {
  words: "a device",
  read(value, path) {
    const found = text.read(value, path);
    return parseDevice(found) === null ? refuse(path, value, DEVICE_FORM) : found;
  },
};

export const workerUrl: Shape<string> = {
  words: "the URL of a worker",
  read(value, path) {
    const found = text.read(value, path);
    return isWorkerUrl(found) ? found : refuse(path, value, WORKER_URL_FORM);
  },
};

const measuredDevice = record<MeasuredDevice>({
  provider: [oneOf(PROVIDERS), "Provider of ONNX Runtime; that of `device` if stated."],
  name: [text, "Name by its driver; for processors their model."],
  driver: [orNull(text), "Version of its driver; nil if unknown."],
});

/** Requires a device of the same provider: times apply only to workers of that kind. */
function measuredAs(own: string | undefined): Shape<MeasuredDevice> {
  const provider = own === undefined ? undefined : parseDevice(own)?.provider;
  return {
    ...measuredDevice,
    read(value, path) {
      const read = measuredDevice.read(value, path);
      if (provider === undefined || read.provider === provider) return read;
      return refuse(`${path}.provider`, read.provider, `"${provider}", as the device of the pool`);
    },
  };
}

export const measuredOn = dependent(measuredDevice, ({ device: own }: Pick<Pool, "device">) =>
  measuredAs(own),
);
