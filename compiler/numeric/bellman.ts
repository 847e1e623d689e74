/**
 * Kernels of the two-step backup Q(s, a) = reward + Σ_q w(q | s) · H(q; τ(a)), with H = P V
 * computed beforehand.
 *
 * An action names its first row of H. Below `directStart` it has one row per phase; from there on
 * it has a single row.
 */

/**
 * One sweep: the best value of every listed state. Ties go to the action listed first.
 *
 * @param states the states to update, (listedCount,).
 * @param actionStart (stateCount + 1,).
 * @param actionRow, actionReward (actionCount,).
 * @param phaseWeight (stateCount, phaseCount).
 * @param phaseStart, phaseEnd (stateCount,): the weights outside are negligible.
 * @param rowValue H, (rowCount,).
 * @param value, choice (stateCount,), overwritten for the listed states; choice is an action index.
 */
export function greedyBackup(
  states: Uint32Array,
  phaseCount: number,
  actionStart: Uint32Array,
  actionRow: Uint32Array,
  directStart: number,
  actionReward: Float64Array,
  phaseWeight: Float64Array,
  phaseStart: Uint32Array,
  phaseEnd: Uint32Array,
  rowValue: Float64Array,
  value: Float64Array,
  choice: Uint32Array,
): void {
  for (let listed = 0; listed < states.length; listed++) {
    const state = states[listed]!;
    const weights = state * phaseCount;
    const from = phaseStart[state]!;
    const to = phaseEnd[state]!;
    const actionEnd = actionStart[state + 1]!;
    let best = Number.NEGATIVE_INFINITY;
    let bestAction = actionStart[state]!;
    for (let action = actionStart[state]!; action < actionEnd; action++) {
      const row = actionRow[action]!;
      let q = actionReward[action]!;
      if (row >= directStart) {
        q += rowValue[row]!;
      } else {
        for (let phase = from; phase < to; phase++) {
          q += phaseWeight[weights + phase]! * rowValue[row + phase]!;
        }
      }
      if (q > best) {
        best = q;
        bestAction = action;
      }
    }
    value[state] = best;
    choice[state] = bestAction;
  }
}

/**
 * Spreads a share of the mass of the listed states over the rows that their chosen actions follow.
 * @param rowMass (rowCount,), added to.
 */
export function spreadOverPhases(
  states: Uint32Array,
  phaseCount: number,
  actionRow: Uint32Array,
  directStart: number,
  choice: Uint32Array,
  phaseWeight: Float64Array,
  phaseStart: Uint32Array,
  phaseEnd: Uint32Array,
  mass: Float64Array,
  share: number,
  rowMass: Float64Array,
): void {
  for (let listed = 0; listed < states.length; listed++) {
    const state = states[listed]!;
    const stateMass = share * mass[state]!;
    if (stateMass === 0) continue;
    const weights = state * phaseCount;
    const row = actionRow[choice[state]!]!;
    if (row >= directStart) {
      rowMass[row] = rowMass[row]! + stateMass;
      continue;
    }
    const to = phaseEnd[state]!;
    for (let phase = phaseStart[state]!; phase < to; phase++) {
      rowMass[row + phase] = rowMass[row + phase]! + stateMass * phaseWeight[weights + phase]!;
    }
  }
}
