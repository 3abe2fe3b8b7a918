import { getHeapStatistics } from 'node:v8'

/** Bytes of the heap where a platform does not say: as many as an isolate of the smallest has. */
const unknownLimit = 128 * 1024 * 1024

/** Bytes that the heap may have. */
export function heapLimit(): number {
  const { heap_size_limit: limit } = getHeapStatistics()
  return limit > 0 ? limit : unknownLimit
}
