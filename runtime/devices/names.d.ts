/** One line of at most 100 characters without "|", which divides columns of tables. */
export declare function nameOf(model: string): string;
/** That of this machine; its architecture where the system does not tell. */
export declare function processorName(): string;
