/**
 * Milliseconds of a clock that all programs of this machine share, and that no fault touches: what they write
 * down on their own can be put in order.
 */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
