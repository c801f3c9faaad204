create or replace function loom._retry_after(p_attempts integer) returns interval
language plpgsql immutable parallel safe
as $$
begin
  return least(interval '60 seconds' * 2 ^ least(p_attempts - 1, 10), interval '6 hours');
end
$$;
comment on function loom._retry_after(integer) is
  'How long signals wait for a model after so many attempts: a minute, twice as long each time, six hours at most.';
