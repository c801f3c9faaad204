create or replace function loom._vector_size(p_vector jsonb) returns integer
language plpgsql immutable parallel safe
as $$
begin
  if jsonb_typeof(p_vector) is distinct from 'array' or jsonb_array_length(p_vector) > 16000
    or jsonb_path_exists(p_vector, 'strict $[*] ? (@.type() != "number" || @ > 3.4e38 || @ < -3.4e38)')
    -- Cosine has no answer for it, nor for one that is all zero once its numbers are stored.
    or not jsonb_path_exists(p_vector, 'strict $[*] ? (@ > 1e-30 || @ < -1e-30)') then
    return 0;
  end if;
  return jsonb_array_length(p_vector);
end
$$;
comment on function loom._vector_size(jsonb) is
  'How many numbers a vector has; 0 for what is none: no list, something beyond the numbers that a vector holds, or no direction.';
