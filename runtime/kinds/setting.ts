/** A setting of `serve`: one row of the table that flags, variables, files and docs come from. */
import type { Kind } from "./kinds.ts";

export interface Setting<T = unknown, D extends T | null = T | null> {
  readonly kind: Kind<T>;
  readonly fallback: D;
  /** What null stands for; left out where there is a fallback. */
  readonly otherwise?: string;
  /** What it is: a phrase without a full stop. */
  readonly help: string;
}

/** @param help what it is. @param otherwise what null stands for. */
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

/** Settings that belong together, by their keys in a file. */
export interface SettingGroup {
  readonly title: string;
  readonly settings: Readonly<Record<string, Setting>>;
}

/** `--server-name` of `serverName`. */
export function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `STRATAGEM_SERVER_NAME` of `serverName`. */
export function variableOf(key: string): string {
  return `STRATAGEM_${key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}
