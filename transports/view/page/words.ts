/** A length of time in two units at most. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${Math.max(0, seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Bytes as MiB. */
export function bytesText(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MiB`
}

/** The time of day, with seconds. */
export function timeText(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
