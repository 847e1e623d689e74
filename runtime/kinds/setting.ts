/** A setting of `serve`, from which options, variables, file keys and docs are derived. */
import type { Kind } from "./kinds.ts";

export interface Setting<T = unknown, D extends T | null = T | null> {
  readonly kind: Kind<T>;
  readonly fallback: D;
  /** Meaning of null; omitted if there is a default. */
  readonly otherwise?: string;
  /** Description: a phrase without a full stop. */
  readonly help: string;
}

/** @param help description. @param otherwise meaning of null. */
export function setting<T>(
  kind: Kind<T>,
  fallback: null,
  help: string,
  otherwise: string,
): Setting<T, null>;
export function setting<T>(kind: Kind<T>, fallback: T, help: string): Setting<T, T>;
export function setting<T>(
  kind: Kind<T>,
  fallback: T | null,
  help: string,
  otherwise?: string,
): Setting<T> {
  return { kind, fallback, help, ...(otherwise === undefined ? {} : { otherwise }) };
}

export type ValueOf<S> =
  S extends Setting<infer T, infer D> ? (D extends null ? T | null : T) : never;

/** Related settings by their keys in a file. */
export interface SettingGroup {
  readonly title: string;
  readonly settings: Readonly<Record<string, Setting>>;
}

/** Option `--server-name` for `serverName`. */
export function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Variable `STRATAGEM_SERVER_NAME` for `serverName`. */
export function variableOf(key: string): string {
  return `STRATAGEM_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
