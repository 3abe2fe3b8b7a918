export function startAllowance(ms: number): { left(): number }
export function whenOver(ms: number, work: () => void): () => void
export function slowness(): number
export function cpuTime(): number
