/** Device that runs the models of an agent: the configured one, or the first that runs a model. */

import type { Notice } from "../base/notice.ts";
import { onFirstProvider } from "../exec/limits/first-provider.ts";
import { defaultDevice, deviceText, type WorkerDevice } from "../exec/models/worker-device.ts";

export class DeviceChoice {
  #device: WorkerDevice | null;
  readonly #onNotice: Notice;

  /** @param device null to find out. */
  constructor(device: WorkerDevice | null, onNotice: Notice) {
    this.#device = device;
    this.#onNotice = onNotice;
  }

  /** Null before a model has been started. */
  get device(): WorkerDevice | null {
    return this.#device;
  }

  /**
   * Starts a model; the first one determines the device of all later ones.
   * @param start `isTrial` says whether another device is tried if this one fails.
   * @throws Error with the reason if it does not start.
   */
  async start<E>(start: (device: WorkerDevice, isTrial: boolean) => Promise<E>): Promise<E> {
    if (this.#device !== null) return start(this.#device, false);
    const started = await onFirstProvider(
      async (provider) => {
        const device = defaultDevice(provider);
        const one = await start(device, true);
        return { one, device };
      },
      ({ reason }) => this.#onNotice(`auto: ${reason}`, "info"),
    );
    this.#device = started.device;
    this.#onNotice(`auto: the models run on ${deviceText(started.device)}`, "info");
    return started.one;
  }
}
