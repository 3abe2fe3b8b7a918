/** An answer that takes no work, with its JSON text. */
export interface Immediate<Result extends object = object> {
  readonly result: Result
  readonly text: string
}

/** An answer that is ready now. */
export function immediate<Result extends object>(result: Result): Immediate<Result> {
  return { result, text: JSON.stringify(result) }
}
