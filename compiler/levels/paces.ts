/** The paces that bundles have plans for by default. */

/** Service times of slower machines, relative to the profile. */
export const PLANNED_PACES = [1.3, 1.75, 2.5] as const;
