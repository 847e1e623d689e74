/** Kernels of the two-step backup Q(s, a) = reward + Σ_q w(q | s) · H(q; τ(a)), with H = P V computed beforehand. */

/**
 * One sweep: the best value of every listed state. Ties go to the action listed first.
 *
 * @param states the states to update, (listedCount,). @param actionStart (stateCount + 1,). @param actionBlock,
 * actionReward (actionCount,). @param phaseWeight (stateCount, phaseCount). @param phaseStart, phaseEnd (stateCount,):
 * the weights outside are negligible. @param phaseValue H, (blockCount, phaseCount). @param value, choice (stateCount,),
 * overwritten for the listed states; choice is an action index.
 */
export function greedyBackup(
  states: Uint32Array,
  phaseCount: number,
  actionStart: Uint32Array,
  actionBlock: Uint32Array,
  actionReward: Float64Array,
  phaseWeight: Float64Array,
  phaseStart: Uint32Array,
  phaseEnd: Uint32Array,
  phaseValue: Float64Array,
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
      const row = actionBlock[action]! * phaseCount;
      let q = actionReward[action]!;
      for (let phase = from; phase < to; phase++) {
        q += phaseWeight[weights + phase]! * phaseValue[row + phase]!;
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

/** Spreads a share of the mass of the listed states over (block, phase) as their chosen actions do. @param phaseMass (blockCount, phaseCount), added to. */
export function spreadOverPhases(
  states: Uint32Array,
  phaseCount: number,
  actionBlock: Uint32Array,
  choice: Uint32Array,
  phaseWeight: Float64Array,
  phaseStart: Uint32Array,
  phaseEnd: Uint32Array,
  mass: Float64Array,
  share: number,
  phaseMass: Float64Array,
): void {
  for (let listed = 0; listed < states.length; listed++) {
    const state = states[listed]!;
    const stateMass = share * mass[state]!;
    if (stateMass === 0) continue;
    const weights = state * phaseCount;
    const row = actionBlock[choice[state]!]! * phaseCount;
    const to = phaseEnd[state]!;
    for (let phase = phaseStart[state]!; phase < to; phase++) {
      phaseMass[row + phase] = phaseMass[row + phase]! + stateMass * phaseWeight[weights + phase]!;
    }
  }
}
