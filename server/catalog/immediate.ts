/** An answer that is ready, with its JSON text. */
export interface Immediate<Result extends object = object> {
  readonly result: Result
  readonly text: string
}

export function immediate<Result extends object>(result: Result): Immediate<Result> {
  return { result, text: JSON.stringify(result) }
}
