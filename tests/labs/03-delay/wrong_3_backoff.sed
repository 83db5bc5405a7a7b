# wrong_3_backoff -- the timeout does not double.
/2 \* nopal_shared_get/d
