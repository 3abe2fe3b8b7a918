import { errorCodes } from '../wire/errors.js'
import { isObject } from '../wire/json.js'
import { elicitParams } from './shapes/elicitation.js'
import type { ElicitUrlParams } from './types/elicitation.js'

/**
 * What an error -32042 wants: the pages that the user has to visit before the request can succeed, each with
 * the id that `notifications/elicitation/complete` will name (specification: 2025-11-25, elicitation). Empty
 * for any other error, and for one whose list holds anything but such pages.
 */
export function urlElicitations(error: unknown): readonly ElicitUrlParams[] {
  if (!isObject(error) || error.code !== errorCodes.urlElicitationRequired || !isObject(error.data)) return []
  const { elicitations } = error.data
  return Array.isArray(elicitations) && elicitations.every(isPage) ? elicitations : []
}

function isPage(value: unknown): value is ElicitUrlParams {
  return isObject(value) && value.mode === 'url' && elicitParams(value) === undefined
}
