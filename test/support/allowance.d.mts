export function startAllowance(ms: number): { left(): number }
export function whenOver(ms: number, work: () => void): () => void
export function slowness(): number
export function cpuTime(): number

/** The processor time of this process and of the children that it has waited for, in ms; without /proc of this process alone. */
export function totalCpu(): number
