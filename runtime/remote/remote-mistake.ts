/** A server that cannot be a worker as it is, and will not be one by waiting. */
export class RemoteMistake extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RemoteMistake";
  }
}
