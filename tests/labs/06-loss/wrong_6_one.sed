# wrong_6_one -- one segment leaves for each ack, however far the window moved.
s/^\twhile ((segment = nopal_queue_first/\tif ((segment = nopal_queue_first/
