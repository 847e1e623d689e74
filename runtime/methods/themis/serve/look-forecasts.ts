/** Runs a forecast model after each look at the traffic. */
import type { OnnxForecaster } from "../../../exec/onnx/onnx-forecaster.ts";
import type { Forecasts } from "../../../server/graph/forecasts.ts";
import type { ThemisDispatcher } from "../core/themis-dispatcher.ts";

interface LookForecastsOptions {
  readonly dispatcher: Pick<ThemisDispatcher, "lookCount" | "perBeat" | "beatMs">;
  readonly forecaster: Pick<OnnxForecaster, "forecast">;
  /** Called with the reason why forecasts stop, once until they resume. */
  readonly onNotice: (message: string) => void;
}

/**
 * Forecasts of a model: one after each look at the traffic, computed beside serving, and one at a
 * time.
 */
export class LookForecasts implements Forecasts {
  readonly #options: LookForecastsOptions;
  #seenLooks = 0;
  #isBusy = false;
  #isFailing = false;

  constructor(options: LookForecastsOptions) {
    this.#options = options;
  }

  /**
   * Called when the dispatcher may have looked: then another forecast is begun, unless the previous
   * one is still running.
   * @param tell called with the forecast, or with NaN if it failed, so that no earlier one stays in
   * force.
   */
  follow(tell: (qps: number) => void): void {
    const { dispatcher, forecaster } = this.#options;
    if (this.#isBusy || dispatcher.lookCount === this.#seenLooks) return;
    this.#seenLooks = dispatcher.lookCount;
    this.#isBusy = true;
    // The next look overwrites the input of this forecast.
    const perBeat = dispatcher.perBeat.slice();
    forecaster.forecast(perBeat).then(
      (foretold) => {
        this.#isFailing = false;
        this.#end((1000 * foretold) / dispatcher.beatMs, tell);
      },
      (error: unknown) => {
        this.#refuse(error);
        this.#end(Number.NaN, tell);
      },
    );
  }

  #end(qps: number, tell: (qps: number) => void): void {
    this.#isBusy = false;
    tell(qps);
  }

  #refuse(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onNotice(`no forecast, the last beats count in its place: ${reason}`);
  }
}
