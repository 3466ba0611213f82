// Listeners of the clients that follow the host.

/** As the program's libraries declare them: those of browsers and those of Node have other names for them. */
export type Listener = Parameters<EventTarget["addEventListener"]>[1];
export type ListenerOptions = Parameters<EventTarget["addEventListener"]>[2];
