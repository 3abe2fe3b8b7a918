/** What is known of a server from one connection to the next. */
export interface ServerHabits {
  /**
   * Whether it leaves the request for the stream unanswered until it has something to say there: then nothing
   * waits for that.
   */
  isSilent: boolean
}
